import { migMemoryGb, migTypeOf, poolOf, sharedTypeOf } from '../../domain/catalog/part-types.ts';
import type { FaultyGpu, Gpu, GpuReading } from './gpu.ts';

interface Section {
  /** `query`, `list` or `driver`; of one GPU, with its address: `query 0000:3b:00.0`. */
  name: string;
  /** Null: the script was cut off. */
  code: number | null;
  text: string;
}

/** Null: there is no `nvidia-smi`. */
function parseSections(output: string): Section[] | null {
  if (/^### absent$/m.test(output)) return null;
  const parts = output.split(/^### (?!exit )(.+)$/m).slice(1);
  return Array.from({ length: Math.floor(parts.length / 2) }, (_, i) => {
    const body = parts[2 * i + 1]!;
    const end = /^### exit (\d+)$/m.exec(body);
    return { name: parts[2 * i]!, code: end ? Number(end[1]) : null, text: body.slice(0, end?.index).trim() };
  });
}

/** How a GPU says that it is gone or needs a reset, in a field or in a message about it. */
const FAULT = /\[?(GPU is lost|GPU requires reset|Unknown Error|No such device)[^\],\n]*\]?/i;
const LOST = /Unable to determine the device handle for GPU ?([0-9A-Fa-f:.]+): (.+)/;

const FAILURES: readonly [RegExp, string][] = [
  [
    /Driver\/library version mismatch/i,
    'The driver was updated while its module is loaded: restart the machine, or reload the nvidia kernel modules',
  ],
  [
    /couldn't communicate with the NVIDIA driver/i,
    'Load the driver (modprobe nvidia), or install it again if the kernel was updated',
  ],
  [/Insufficient Permissions/i, 'Let the user of the server open /dev/nvidiactl and /dev/nvidia0'],
  [
    /Failed to initialize NVML/i,
    'Run nvidia-smi there. In a container that has lost its devices, restart the container',
  ],
];
const OTHER_FAILURE = 'Run nvidia-smi there and follow what it says';

/** Parses what the script printed. `shares`: how many workloads get each whole GPU. */
export function parseNvidia(output: string, shares: number): GpuReading {
  const sections = parseSections(output);
  if (sections === null) return { state: 'absent' };
  const query = sections.find(({ name }) => name === 'query');
  if (!query || query.code === null || query.code === 124) return unanswered();
  const rows = sectionsOf(sections, 'query');
  const found = rows.flatMap((section) => parseRows(section));
  const faulty = uniqueFaults([...found.flatMap(({ fault }) => fault ?? []), ...rows.flatMap(faultsIn)]);
  const whole = found.flatMap(({ row }) => row ?? []);
  if (whole.length === 0 && faulty.length === 0) return withoutGpus(query);
  const cudaVersion = cudaVersionIn(sections);
  const slices = sectionsOf(sections, 'list').flatMap(({ text }) => slicesIn(text));
  const gpus = new Map(
    whole
      .flatMap((row) => (row.isMig ? toSlices(row, slices, cudaVersion) : toGpu(row, shares, cudaVersion)))
      .map((gpu) => [gpu.uuid, gpu]),
  );
  const isPartial = query.code !== 0 && rows.length === 1;
  return { state: 'read', gpus: [...gpus.values()], faulty, ...(isPartial && { isPartial }) };
}

/** Those of all GPUs, or of one each. */
function sectionsOf(sections: readonly Section[], what: string): Section[] {
  return sections.filter(({ name }) => name === what || name.startsWith(`${what} `));
}

interface Row {
  uuid: string;
  name: string;
  memoryMib: number;
  isMig: boolean;
  busId: string;
}

/** One line a GPU: `GPU-<uuid>, <name>, <MiB>, <driver>, <Enabled|Disabled|[N/A]>, <address>`. */
function parseRows({ text }: Section): { row?: Row; fault?: FaultyGpu }[] {
  return text.split('\n').flatMap((line): { row?: Row; fault?: FaultyGpu }[] => {
    const fields = line.split(', ');
    if (fields.length < 6) return [];
    const [uuid = '', name = '', memory = '', , mig = ''] = fields;
    const busId = shortBusId(fields.at(-1)!.trim());
    const isNamed = /^GPU-[0-9a-f-]+$/i.test(uuid);
    const fault = FAULT.exec(fields.slice(0, 5).join(', '))?.[1];
    if (fault !== undefined) return [{ fault: { uuid: isNamed ? uuid : null, busId, fault } }];
    return isNamed
      ? [{ row: { uuid, name: name.trim(), memoryMib: Number(memory) || 0, isMig: mig === 'Enabled', busId } }]
      : [];
  });
}

function faultsIn({ text, name }: Section): FaultyGpu[] {
  return text.split('\n').flatMap((line) => {
    const lost = LOST.exec(line);
    if (!lost) return [];
    const fault = lost[2]!.split('.')[0]!.trim(); // without its advice to restart
    return [{ uuid: null, busId: shortBusId(name.split(' ')[1] ?? lost[1]!), fault }];
  });
}

/** The same GPU may be named by the whole query and by its own. */
function uniqueFaults(faults: readonly FaultyGpu[]): FaultyGpu[] {
  return [...new Map(faults.map((one) => [one.busId ?? one.uuid, one])).values()];
}

/** `0000:3b:00.0`: the tools write more or fewer zeros in front, and upper or lower case. */
function shortBusId(busId: string): string {
  return busId.toLowerCase().replace(/^0+(?=[0-9a-f]{4}:)/, '');
}

function toGpu(row: Row, shares: number, cudaVersion: string | null): Gpu[] {
  const type = shares > 1 ? sharedTypeOf(row.name, shares) : { gpuTypeId: row.name, pool: poolOf(row.name) };
  const { uuid, memoryMib, busId } = row;
  return [{ uuid, busId, ...type, vendor: 'NVIDIA', memoryMib, cudaVersion, shares, devicePaths: [] }];
}

interface Slice {
  parentUuid: string;
  uuid: string;
  profile: string;
}

/** A GPU with MIG is not a device itself: its slices are. */
function toSlices(row: Row, slices: readonly Slice[], cudaVersion: string | null): Gpu[] {
  return slices
    .filter(({ parentUuid }) => parentUuid === row.uuid)
    .map(({ uuid, profile }) => {
      const memoryMib = migMemoryGb(profile) * 1024;
      const type = migTypeOf(row.name, profile);
      return { uuid, busId: row.busId, ...type, vendor: 'NVIDIA', memoryMib, cudaVersion, shares: 1, devicePaths: [] };
    });
}

/** Parses `nvidia-smi -L`: a line a GPU, and below it an indented line for each of its slices. */
function slicesIn(text: string): Slice[] {
  let parentUuid = '';
  return text.split('\n').flatMap((line) => {
    const uuid = /\(UUID: ([GPUMI]{3}-[\w/-]{1,80})\)/.exec(line)?.[1] ?? '';
    if (line.startsWith('GPU ')) parentUuid = uuid;
    const [, profile = ''] = line.trim().split(/ +/);
    return /^ +MIG /.test(line) && uuid !== '' ? [{ parentUuid, profile, uuid }] : [];
  });
}

/** `CUDA Version : 12.4` in the head of `nvidia-smi -q`; `Not Found` where libcuda is missing. */
function cudaVersionIn(sections: readonly Section[]): string | null {
  const heads = sectionsOf(sections, 'driver').map(({ text }) => text);
  return /^CUDA Version\s*:\s*(\d+\.\d+)/m.exec(heads.join('\n'))?.[1] ?? null;
}

function unanswered(): GpuReading {
  return {
    state: 'unreadable',
    problem: 'nvidia-smi does not answer',
    advice: 'Run nvidia-smi there. If it hangs, a GPU or its driver is stuck: restart the machine',
  };
}

function withoutGpus({ text, code }: Section): GpuReading {
  if (/No devices were found/i.test(text)) return { state: 'read', gpus: [], faulty: [] };
  const problem = text.split('\n')[0]!.trim() || `nvidia-smi failed with code ${code}`;
  const advice = FAILURES.find(([words]) => words.test(text))?.[1] ?? OTHER_FAILURE;
  return { state: 'unreadable', problem: problem.replace(/\.$/, ''), advice };
}
