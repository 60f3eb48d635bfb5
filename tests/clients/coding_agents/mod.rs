//! Coding agents against the real binary: Codex and opencode as they are installed, Claude Code by a replay of its calls.

mod claude_code;
mod model;
mod program;
mod table;
