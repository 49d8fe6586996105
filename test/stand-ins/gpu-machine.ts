import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** A GPU of the stand-in machine. */
export interface StandInGpu {
  uuid: string;
  name: string;
  memoryMib: number;
  bus: string;
  /** Its slices; null: MIG is off; absent: it has no MIG. */
  mig?: { profile: string; uuid: string }[] | null;
  /** It has fallen off the bus, in the driver's words. */
  lost?: string;
  needsReset?: boolean;
}

export interface StandInMachine {
  state?: 'ok' | 'no driver' | 'mismatch' | 'no devices' | 'hangs';
  driver?: string;
  cuda?: string | null;
  gpus?: StandInGpu[];
  cards?: { uniqueId: string; series: string; bytes: number; bus: string }[];
  /** Memory that programs have allocated. */
  ledger?: { uuid: string; pid: number; mib: number }[];
}

/** A machine whose `nvidia-smi` or `rocm-smi` is a stand-in (the programs beside this file). */
export class GpuMachine {
  readonly folder = mkdtempSync(join(tmpdir(), 'podyard-gpus-'));
  /** Where the driver lists the GPUs that it found. */
  readonly procGpus = join(this.folder, 'proc');
  #machine: StandInMachine;

  constructor(tool: 'nvidia-smi' | 'rocm-smi', machine: StandInMachine) {
    this.add(tool);
    this.#machine = machine;
    this.change({});
  }

  /** PATH with the stand-in first. */
  get path(): string {
    return [this.folder, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
  }

  /** Adds the stand-in for another tool. */
  add(tool: 'nvidia-smi' | 'rocm-smi' | 'cuda-checkpoint'): void {
    copyFileSync(new URL(tool, import.meta.url), join(this.folder, tool));
    chmodSync(join(this.folder, tool), 0o755);
  }

  change(change: Partial<StandInMachine>): void {
    this.#machine = { state: 'ok', driver: '550.54.15', cuda: '12.4', gpus: [], ...this.#machine, ...change };
    writeFileSync(join(this.folder, 'machine.json'), JSON.stringify(this.#machine));
    rmSync(this.procGpus, { recursive: true, force: true });
    for (const { bus } of this.#machine.gpus ?? [])
      mkdirSync(join(this.procGpus, bus.slice(4).toLowerCase()), { recursive: true });
  }

  /** Changes one GPU. */
  changeGpu(uuid: string, change: Partial<StandInGpu>): void {
    this.change({ gpus: this.#machine.gpus!.map((gpu) => (gpu.uuid === uuid ? { ...gpu, ...change } : gpu)) });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** A GPU with a UUID and an address made of a number. */
export function standInGpu(n: number, change: Partial<StandInGpu> = {}): StandInGpu {
  const hex = n.toString(16).padStart(2, '0');
  return {
    uuid: `GPU-00000000-0000-0000-0000-0000000000${hex}`,
    name: 'NVIDIA GeForce RTX 4090',
    memoryMib: 24_564,
    bus: `00000000:${hex.toUpperCase()}:00.0`,
    ...change,
  };
}
