"""Formats of genomics: AnnData and PLINK."""
