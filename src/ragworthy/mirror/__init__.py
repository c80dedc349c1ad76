"""Questions of live traffic, asked of the shadow too, without anyone seeing its answers."""
