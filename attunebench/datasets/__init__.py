"""Sets of conversations as files: got, listed, checked, cut and described. Asks no model and scores nothing."""
