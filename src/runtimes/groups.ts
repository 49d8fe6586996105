/** Workloads that belong together, on a network that nothing else is on. */
export interface Group {
  id: string;
  /** How many workloads it has at most, for the size of the network. */
  size: number;
  /** `<port>/<protocol>` items of its workloads: those stay reachable for others, where the network is also theirs. */
  ports: readonly string[];
}

export interface GroupNetwork {
  /** Its addresses; null where it has no range of its own. */
  cidr: string | null;
  /** Where the others reach the workload of rank 0: an address, or a name. */
  primary: string;
  /** A port of it for a rendezvous, free for the group. */
  port: number;
  /** Its network interface in a workload; null where a workload has no other. */
  interfaceName: string | null;
  /** Returns the address of a rank; null where only a running workload has one, which then learns it as NODE_ADDR. */
  addressOf(rank: number): string | null;
}

/** The port that PyTorch's launcher uses, of each group where groups do not share addresses. */
export const RENDEZVOUS_PORT = 29_500;

/** Networks of groups. */
export interface GroupNetworks {
  /** Creates the network unless it exists. Stable: the same group has the same addresses. */
  ensure(group: Group): Promise<GroupNetwork>;
  /** Removes the network, which no workload is on any more. Idempotent. */
  remove(id: string): Promise<void>;
  /** Returns the ids of the groups of this installation that have a network. */
  list(): Promise<string[]>;
}
