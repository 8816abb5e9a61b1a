"""Sources around sources: columns encoded, grouped, or left over, as they come."""
