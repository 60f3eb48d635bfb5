#!/usr/bin/env bash
# Kills servers under load, by default 1,000 times, and looks whether what was promised of a record holds:
#
#   tests/campaign/kills.sh [ROUNDS]
#
# The gateway (both durabilities), the analysis server over SQLite, the chain of records, and with PostgreSQL
# on this machine the server and its database.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export MONITOR_KILL_ROUNDS="${1:-1000}"
# What `batched` promises, instead of what a busy machine is given.
export MONITOR_KILL_AGE_MS="${MONITOR_KILL_AGE_MS:-50}"
cargo test --test gateway -- --nocapture --test-threads=1 spool::contract_11_killed spool::contract_23_killed
cargo test --test store -- --nocapture --test-threads=1 --include-ignored servers::kill:: servers::gaps::contract_5_a_record_deleted_by_hand
