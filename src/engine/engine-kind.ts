/** How engines with Docker's API differ in what they cannot be asked for. */
export interface EngineKind {
  /** As people say it: `Podman 4.3.1`. */
  name: string;
  /** A network's bridge exists as long as the network; else only while a container is on it. */
  keepsBridges: boolean;
  /** A network can keep its containers from reaching each other. */
  isolatesNeighbors: boolean;
  /** Packets of containers pass the chain DOCKER-USER before the engine accepts them. */
  callsUserChain: boolean;
  /** It refuses to mount a directory that does not exist; else it creates the directory. */
  refusesMissingMounts: boolean;
  /** It builds images with BuildKit; else with Buildah. */
  hasBuildKit: boolean;
  /** It always says that a container was killed because it ran out of memory. */
  reportsOutOfMemory: boolean;
}

/** The members used of `GET /version`. */
export interface EngineVersion {
  Version?: string;
  Components?: { Name: string; Version: string }[] | null;
}

export function kindOf({ Version = '', Components }: EngineVersion): EngineKind {
  const podman = (Components ?? []).find(({ Name }) => Name === 'Podman Engine');
  if (podman) return { name: `Podman ${podman.Version}`, ...PODMAN };
  return { name: `Docker ${Version}`, ...DOCKER };
}

const DOCKER = {
  hasBuildKit: true,
  keepsBridges: true,
  isolatesNeighbors: true,
  callsUserChain: true,
  refusesMissingMounts: true,
  reportsOutOfMemory: true,
};
const PODMAN: typeof DOCKER = {
  hasBuildKit: false,
  keepsBridges: false,
  isolatesNeighbors: false,
  callsUserChain: false,
  refusesMissingMounts: false,
  reportsOutOfMemory: false,
};
