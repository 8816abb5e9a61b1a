"""What flows through tamis: blocks of columns or rows, a target, decisions. Needs numpy only."""
