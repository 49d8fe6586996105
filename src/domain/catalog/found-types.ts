/**
 * GPU types that machines have and the catalog does not list, or lists without a pool: unknown models, MIG slices, shared
 * GPUs. They are added when a runtime reports them, so that endpoints can name their pools and the catalog shows them.
 */
import { addGpuTypes, findGpuType, type GpuType, gpuPools } from './catalog.ts';
import { migMemoryGb, type Part, partOf } from './part-types.ts';

interface FoundGpu {
  pool: string;
  gpuTypeId: string;
  memoryGb?: number;
}

const MAX_COUNT = 8;

/** Adds those of these that the catalog lacks. Idempotent, and cheap when it lacks none. */
export function nameFoundTypes(found: readonly FoundGpu[]): void {
  const unknown = found.filter(
    ({ gpuTypeId, pool }) => findGpuType(gpuTypeId)?.pool !== pool && !gpuPools().includes(pool),
  );
  if (unknown.length > 0) addGpuTypes(unknown.map(toGpuType));
}

function toGpuType({ gpuTypeId, pool, memoryGb = 0 }: FoundGpu): GpuType {
  const known = findGpuType(gpuTypeId);
  if (known) return { ...known, pool };
  const part = partOf(gpuTypeId);
  return part === null ? unknownType(gpuTypeId, pool, memoryGb) : partType(gpuTypeId, pool, part, memoryGb);
}

function unknownType(id: string, pool: string, memoryGb: number): GpuType {
  return {
    id,
    name: id.replace(/^NVIDIA /, ''),
    pool,
    manufacturer: manufacturerOf(id),
    memory: Math.max(1, memoryGb),
    secure: true,
    community: false,
    price: { secure: null, community: null },
    maxCount: { secure: MAX_COUNT, community: 0 },
  };
}

/** A part costs its share of the whole: of the memory for a slice. One workload gets one part of a GPU. */
function partType(id: string, pool: string, part: Part, memoryGb: number): GpuType {
  const base = findGpuType(part.baseId);
  const whole = base?.price.secure ?? base?.price.community ?? null;
  const memory = part.kind === 'MIG' ? migMemoryGb(part.profile) || memoryGb : (base?.memory ?? memoryGb);
  const share = part.kind === 'MIG' ? memory / (base?.memory ?? memory) : 1 / (part.shares || 1);
  const baseName = base?.name ?? part.baseId.replace(/^NVIDIA /, '');
  const sharing = part.kind === 'SHARED' && part.shares > 0 ? `, shared by ${part.shares}` : ', shared';
  return {
    ...unknownType(id, pool, memory),
    name: part.kind === 'MIG' ? `${baseName} MIG ${part.profile}` : `${baseName}${sharing}, not isolated`,
    manufacturer: base?.manufacturer ?? manufacturerOf(id),
    price: { secure: whole === null ? null : Number((whole * share).toFixed(4)), community: null },
    maxCount: { secure: 1, community: 0 },
  };
}

function manufacturerOf(id: string): GpuType['manufacturer'] {
  if (/^AMD |radeon|instinct/i.test(id)) return 'AMD';
  return /nvidia|geforce|quadro|tesla/i.test(id) ? 'NVIDIA' : 'UNKNOWN';
}
