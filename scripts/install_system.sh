#!/usr/bin/env bash
# Installs the programs and fonts that Framekiln needs, on Debian and systems made from it.
#
# Only what is missing is installed, and nothing at all when nothing is. An existing PostgreSQL is
# left alone; a new one is installed without a cluster of its own, because Framekiln keeps a
# private one in its data folder.
set -euo pipefail

OLDEST_POSTGRES=15
CLUSTER_SETTINGS=/etc/postgresql-common/createcluster.conf

main() {
    local packages=()
    mapfile -t packages < <(missing_packages)
    if [ "${#packages[@]}" -eq 0 ]; then
        return
    fi
    echo "installing: ${packages[*]}" >&2
    require_apt "${packages[@]}"
    as_root apt-get update -q
    if [[ " ${packages[*]} " == *" postgresql "* ]]; then
        install_postgres
    fi
    apt_install "${packages[@]}"
}

missing_packages() {
    has_program chromium-headless-shell || has_program chrome-headless-shell ||
        echo chromium-headless-shell
    has_program ffmpeg || echo ffmpeg
    has_program bwrap || echo bubblewrap
    has_program setpriv || echo util-linux
    has_program curl || echo curl
    has_program jq || echo jq
    has_compiler || echo gcc
    has_venv || echo python3-venv
    has_postgres || echo postgresql
    has_program fc-list || echo fontconfig
    has_font 'Liberation Sans' || echo fonts-liberation
    has_font ':charset=1f600' || echo fonts-noto-color-emoji
    has_font ':lang=zh-cn' || echo fonts-noto-cjk
    { has_font ':lang=ar' && has_font ':lang=hi' && has_font ':lang=th'; } || echo fonts-noto-core
    has_program fc-list && fc-list 'DejaVu Serif' | grep -q . || echo fonts-dejavu-core
}

has_program() {
    command -v "$1" >/dev/null
}

# For the native kernel; without one it stays in numpy.
has_compiler() {
    has_program cc || has_program gcc || has_program clang
}

# Debian's python3 has the venv module, but not what fills a new environment.
has_venv() {
    "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null
}

has_postgres() {
    local server major
    if [ -n "${DATABASE_URL:-}" ] || has_program postgres; then
        return 0
    fi
    for server in /usr/lib/postgresql/*/bin/postgres; do
        major=$(basename "$(dirname "$(dirname "$server")")")
        if [ -x "$server" ] && [ "$major" -ge "$OLDEST_POSTGRES" ]; then
            return 0
        fi
    done
    return 1
}

# DejaVu has Arabic letters, but not the forms they take in a word.
has_font() {
    has_program fc-list && fc-list "$1" family | grep -qv '^DejaVu'
}

require_apt() {
    if ! has_program apt-get; then
        echo "error: there is no apt-get here; install these yourself: $*" >&2
        exit 1
    fi
    if [ "$(id -u)" -ne 0 ] && ! has_program sudo; then
        echo "error: run as root: apt-get install -y --no-install-recommends $*" >&2
        exit 1
    fi
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@"
}

# The package would make and start a cluster on the usual port. Its tools come first, because
# their settings say whether it does; the settings are put back afterwards, whatever happens.
install_postgres() {
    apt_install postgresql-common
    SAVED_SETTINGS=$(mktemp)
    cat "$CLUSTER_SETTINGS" >"$SAVED_SETTINGS"
    trap restore_settings EXIT
    echo 'create_main_cluster = false' | as_root tee -a "$CLUSTER_SETTINGS" >/dev/null
    apt_install postgresql
    restore_settings
    trap - EXIT
}

restore_settings() {
    as_root tee "$CLUSTER_SETTINGS" <"$SAVED_SETTINGS" >/dev/null
    rm -f "$SAVED_SETTINGS"
}

main
