/** How engines with Docker's API differ in what they cannot be asked for. */
export interface EngineKind {
  /** As people say it: `Podman 4.3.1`. */
  name: string;
  /** The platform of its images: `linux/amd64`. */
  platform: string;
  /** A network's bridge exists as long as the network; else only while a container is on it. */
  keepsBridges: boolean;
  /** A network can keep its containers from reaching each other. */
  isolatesNeighbors: boolean;
  /** Packets of containers pass the chain DOCKER-USER before the engine accepts them. */
  callsUserChain: boolean;
  /** It refuses to mount a directory that does not exist; else it creates the directory. */
  refusesMissingMounts: boolean;
  /** The program that builds images, or null if the engine is too old. */
  builds: 'buildkit' | 'buildah' | null;
  /** It always says that a container was killed because it ran out of memory. */
  reportsOutOfMemory: boolean;
}

/** The members used of `GET /version`. */
export interface EngineVersion {
  Version?: string;
  ApiVersion?: string;
  Os?: string;
  Arch?: string;
  Components?: { Name: string; Version: string }[] | null;
}

/** Docker 19.03 is the first whose BuildKit needs no experimental mode. */
const FIRST_WITH_BUILDKIT = 40;
const FIRST_BUILDING_PODMAN = 4;

export function kindOf({
  Version = '',
  ApiVersion = '',
  Os = 'linux',
  Arch = 'amd64',
  Components,
}: EngineVersion): EngineKind {
  const platform = `${Os}/${Arch}`;
  const podman = (Components ?? []).find(({ Name }) => Name === 'Podman Engine');
  if (podman) {
    const builds = Number.parseInt(podman.Version, 10) >= FIRST_BUILDING_PODMAN ? 'buildah' : null;
    return { name: `Podman ${podman.Version}`, platform, builds, ...PODMAN };
  }
  const builds = Number(ApiVersion.split('.')[1]) >= FIRST_WITH_BUILDKIT ? 'buildkit' : null;
  return { name: `Docker ${Version}`, platform, builds, ...DOCKER };
}

const DOCKER = {
  keepsBridges: true,
  isolatesNeighbors: true,
  callsUserChain: true,
  refusesMissingMounts: true,
  reportsOutOfMemory: true,
};
const PODMAN: typeof DOCKER = {
  keepsBridges: false,
  isolatesNeighbors: false,
  callsUserChain: false,
  refusesMissingMounts: false,
  reportsOutOfMemory: false,
};
