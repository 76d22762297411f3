"""Emulated hosts on this machine: check what it can do, or work in one."""

COMMANDS = ("check", "shell")
