#!/bin/sh
# Makes the certificates of this folder anew. They are for tests on loopback sockets only: the keys are
# public, so nothing else may ever trust them. Valid from 2020 to 2120. Needs openssl; the tests do not.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/config" <<CONFIG
[ca]
default_ca = signing
[signing]
database = $work/database
new_certs_dir = $work
default_md = sha256
policy = anything
unique_subject = no
rand_serial = yes
[anything]
commonName = supplied
CONFIG
: >"$work/database"

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

# sign <name> <key> <how> <end of validity> <extensions>
sign() {
  openssl req -new -key "$2" -out "$work/request" -subj "/CN=Test only: $1"
  printf "$5" >"$work/extensions"
  openssl ca -batch -notext -config "$work/config" -in "$work/request" -out "$1.pem" $3 \
    -startdate 20200101000000Z -enddate "$4" -extfile "$work/extensions" 2>/dev/null
}

# authority <name>: signs itself. Its key is not kept.
authority() {
  key "$work/$1.key"
  sign "$1" "$work/$1.key" "-selfsign -keyfile $work/$1.key" 21200101000000Z \
    'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n'
}

# certificate <name> <key> <authority> <usage> <alternative names> [end of validity]
certificate() {
  sign "$1" "$2" "-cert $3.pem -keyfile $work/$3.key" "${6:-21200101000000Z}" \
    "extendedKeyUsage=$4\nsubjectAltName=$5\nauthorityKeyIdentifier=keyid\n"
}

authority authority
authority stranger
key server-key.pem
key client-key.pem
certificate server server-key.pem authority serverAuth DNS:localhost,DNS:mcp.test,DNS:proxy.test,IP:127.0.0.1
certificate other-names server-key.pem authority serverAuth DNS:elsewhere.test
certificate expired server-key.pem authority serverAuth DNS:localhost,IP:127.0.0.1 20200201000000Z
certificate client client-key.pem authority clientAuth DNS:client.test
certificate stranger-client client-key.pem stranger clientAuth DNS:client.test
