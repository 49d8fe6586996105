import { opaqueName } from '../../opaque-name.ts';

/** The name of a group's Service, and so of its pods' domain. Does not contain the id, as the names of pods' Services do not. */
export function groupName(id: string, installation: string): string {
  return `podyard-${opaqueName(installation, id)}`;
}

/** The host name of a group's pod: its name in the group's domain. */
export function memberHostname(rank: number): string {
  return `rank-${rank}`;
}
