"""Genomics formats: AnnData and PLINK."""
