import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { gpuTypes } from '../../domain/catalog/catalog.ts';
import { poolOf } from '../../domain/catalog/part-types.ts';
import type { Gpu, GpuReading } from './gpu.ts';

/** The interface for computing: a container needs it beside its GPU's own files. */
export const KFD = '/dev/kfd';
const DRM = '/sys/class/drm';
const QUERY = ['rocm-smi', '--showproductname', '--showuniqueid', '--showbus', '--showmeminfo', 'vram', '--json'];

type Run = (words: readonly string[]) => Promise<{ output: string; error: string | null }>;
type Card = Readonly<Record<string, string | undefined>>;

/** Reads the AMD GPUs by `rocm-smi`. A machine without that program has none that can be used. */
export async function readAmdGpus(run: Run): Promise<GpuReading> {
  const { output, error } = await run(QUERY);
  if (error !== null && output === '') return { state: 'absent' };
  return parseAmd(output, (busId) => deviceFilesAt(busId));
}

/**
 * Parses `rocm-smi --json`: a member for each card, whose fields' names differ between versions. A warning may stand in
 * front of the JSON.
 */
function parseAmd(output: string, filesAt: (busId: string) => readonly string[]): GpuReading {
  const cards = parseCards(output);
  if (cards === undefined) {
    return {
      state: 'unreadable',
      problem: `rocm-smi failed: ${output.trim().split('\n').at(-1) || 'it printed nothing'}`,
      advice: 'Run rocm-smi there. The amdgpu driver must be loaded, and the user in the groups video and render',
    };
  }
  const gpus = cards.flatMap((card) => toGpu(card, filesAt) ?? []);
  return gpus.length === 0 ? { state: 'absent' } : { state: 'read', gpus, faulty: [] };
}

function parseCards(output: string): Card[] | undefined {
  const start = output.indexOf('{');
  if (start < 0) return /WARNING: No AMD GPUs|No GPU available/i.test(output) ? [] : undefined;
  try {
    const all = JSON.parse(output.slice(start)) as Record<string, Card>;
    return Object.entries(all).flatMap(([name, card]) => (/^card\d+$/.test(name) ? [card] : []));
  } catch {
    return undefined;
  }
}

/** Undefined without a unique id, as graphics in a processor have none: it could be addressed by its index only. */
function toGpu(card: Card, filesAt: (busId: string) => readonly string[]): Gpu | undefined {
  const id = /^0x([0-9a-f]{1,16})$/i.exec(card['Unique ID'] ?? '')?.[1];
  if (id === undefined) return undefined;
  const name = nameOf(card);
  const bytes = Number(card['VRAM Total Memory (B)']) || 0;
  return {
    busId: (card['PCI Bus'] ?? '').toLowerCase(),
    uuid: `GPU-${id.toLowerCase().padStart(16, '0')}`, // as ROCR_VISIBLE_DEVICES takes it
    gpuTypeId: name,
    pool: poolOf(name),
    vendor: 'AMD',
    memoryMib: Math.round(bytes / 2 ** 20),
    cudaVersion: null,
    shares: 1,
    devicePaths: filesAt(card['PCI Bus'] ?? ''),
  };
}

function nameOf(card: Card): string {
  const series = card['Card Series'] ?? card['Card series'] ?? card['Card Model'] ?? card['Card model'] ?? 'GPU';
  const name = /^AMD /i.test(series) ? series : `AMD ${series}`;
  const [known, ...others] = gpuTypes().filter(({ id }) => id === name || id.startsWith(`${name} `));
  return known && others.length === 0 ? known.id : name; // the catalog may add the form: `AMD Instinct MI300X OAM`
}

/** `/dev/dri/card<n>` and `/dev/dri/renderD<n>` of the GPU at this address. */
function deviceFilesAt(busId: string): string[] {
  if (!existsSync(DRM)) return [];
  const isAt = (name: string) => {
    try {
      return basename(realpathSync(`${DRM}/${name}/device`)).toLowerCase() === busId.toLowerCase();
    } catch {
      return false;
    }
  };
  return readdirSync(DRM)
    .filter((name) => /^(card|renderD)\d+$/.test(name) && isAt(name))
    .map((name) => `/dev/dri/${name}`);
}
