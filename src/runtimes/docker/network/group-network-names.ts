import { opaqueName } from '../../opaque-name.ts';

/** The prefix of the names of their bridges' interfaces. */
export const GROUP_BRIDGE_PREFIX = 'pyg-';

const PREFIX = 'podyard-group-';

/** Returns the name of a group's network. It does not contain the id, as containers' names do not. */
export function groupNetworkName(installation: string, id: string): string {
  return `${PREFIX}${opaqueName(installation, id)}`;
}

/** True for a network that containers have beside the common one. */
export function isGroupNetwork(name: string): boolean {
  return name.startsWith(PREFIX);
}
