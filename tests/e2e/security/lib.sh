# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What scripts of tests/e2e/security share: root looks, and an ordinary user means harm.
# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

[ "$(id -u)" = 0 ] || { echo "skipped: not root, so there is no other user to be harmed by"; exit 77; }
need setpriv

EVE=65534
as_eve() { setpriv --reuid=$EVE --regid=$EVE --clear-groups -- "$@"; }

# A folder of that user's. The one around it, which is root's, can be entered but not written.
chmod 755 "$WORK"
mkdir -m 755 eve
chown $EVE:$EVE eve

# within SECONDS CASE COMMAND...: output in `out`, messages in `log`, status in $status.
within() {
    local seconds=$1 name=$2
    shift 2
    status=0
    timeout -k 5 "$seconds" "$@" >out 2>log || status=$?
    n_checks=$((n_checks + 1))
    case $status in
    124 | 137) fail "$name: not done within $seconds s" log ;;
    esac
}
