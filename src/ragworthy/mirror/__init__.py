"""Questions of live traffic, asked of the shadow too, without anybody seeing its answers."""
