#!/usr/bin/env bash
# Simulated histories of the spool, its disk and its backend (src/spool/simulation/): a million of them by default.
# Usage: tests/campaign/spool_simulation.sh [HISTORIES [FIRST_SEED]]
# A failing seed is printed; MONITOR_SIMULATION_SEED=N replays it with everything that happened.
set -euo pipefail
cd "$(dirname "$0")/../.."
export MONITOR_SIMULATION_HISTORIES="${1:-1000000}" MONITOR_SIMULATION_FIRST="${2:-0}"
exec ${CARGO:-cargo} test -p monitor-gateway --lib spool::simulation -- --nocapture what_is_promised
