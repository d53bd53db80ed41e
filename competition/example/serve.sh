#!/bin/sh
# Serves the example. The first start makes the competition: folder, secrets, tables, teams. A later
# one takes up a changed competition.toml, and is quick, as agents look for their server meanwhile.
set -eu
trap 'exit 0' INT TERM # as the container's first process it would hear neither
folder=/competition/example
token() { cat "/tokens/$1/token"; }
(umask 077 && echo "postgres:5432:competition:reglue:$(token postgres)" >"$PGPASSFILE")
if [ ! -e "$folder" ]; then
	TOKEN=$(token organiser) reglue competition init "$folder" --address competition:4096 --token-env TOKEN
fi
cp /example/competition.toml "$folder"
cp /example/valley.py "$folder/tasks"
if [ ! -e /join/address ]; then
	reglue competition admit "$folder"
	for team in python cpp julia typescript; do
		told=$(TOKEN=$(token "$team") reglue competition team add "$folder" "$team" --token-env TOKEN)
		echo "$told" | tail -n 1 >/join/new
	done
	mv /join/new /join/address # all of them are added
fi
# `page` is this container's address in the network of that name: teams cannot dial it.
exec reglue competition serve "$folder" --page-listen page:8080 --drain-timeout 20
