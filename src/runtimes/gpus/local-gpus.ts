import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { messageOf } from '../../core/errors.ts';
import { readAmdGpus } from './amd-gpus.ts';
import type { GpuReading, GpuSource } from './gpu.ts';
import { parseNvidia } from './nvidia-gpus.ts';
import { nvidiaCommand } from './nvidia-probe.ts';

/** Longer than the commands in the script may take together. */
const TIMEOUT_MS = 70_000;
const MAX_OUTPUT_BYTES = 4 * 2 ** 20;
/** That one of these is there says that the machine has an NVIDIA GPU, or had one when it started. */
const DEVICE_FILES = ['/dev/nvidia0', '/dev/nvidiactl', '/proc/driver/nvidia/version'];

export interface LocalGpusOptions {
  /** How many workloads get each whole GPU. */
  shares: number;
  /** PATH, to find the tools. Default: this process's. */
  path?: string;
  /** For tests. */
  deviceFiles?: readonly string[];
  procGpus?: string;
  hasShell?: boolean;
}

/** The GPUs of this machine, by the tools of their drivers: `nvidia-smi` and `rocm-smi`. */
export class LocalGpus implements GpuSource {
  readonly name = 'this machine';
  readonly #options: LocalGpusOptions;

  constructor(options: LocalGpusOptions) {
    this.#options = options;
  }

  async read(): Promise<GpuReading> {
    const [nvidia, amd] = await Promise.all([this.#readNvidia(), readAmdGpus((words) => this.#run(words))]);
    if (nvidia.state === 'absent') return amd;
    if (nvidia.state === 'unreadable' || amd.state !== 'read') return nvidia; // a rocm-smi may be left from another machine
    return { state: 'read', gpus: [...nvidia.gpus, ...amd.gpus], faulty: [...nvidia.faulty, ...amd.faulty] };
  }

  async #readNvidia(): Promise<GpuReading> {
    const { shares, procGpus, hasShell, deviceFiles = DEVICE_FILES } = this.#options;
    const { output } = await this.#run(nvidiaCommand(procGpus, hasShell));
    const reading = parseNvidia(output, shares);
    const file = deviceFiles.find((path) => existsSync(path));
    const hasNone =
      reading.state === 'absent' || (reading.state === 'read' && reading.gpus.length + reading.faulty.length === 0);
    if (!hasNone) return reading;
    if (file === undefined) return { state: 'absent' };
    if (reading.state === 'read') return reading;
    return {
      state: 'unreadable',
      problem: `there is ${file}, but no nvidia-smi`,
      advice: 'Install the NVIDIA driver’s tools (on Debian or Ubuntu: nvidia-utils), or put nvidia-smi in the PATH',
    };
  }

  /** Resolves with what it printed, whatever its exit code. */
  #run([file, ...args]: readonly string[]): Promise<{ output: string; error: string | null }> {
    const { path } = this.#options;
    const options = {
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: MAX_OUTPUT_BYTES,
      ...(path !== undefined && { env: { PATH: path } }),
    } as const;
    return new Promise((resolve) => {
      execFile(file!, args, options, (error, stdout) =>
        resolve({ output: stdout, error: error ? messageOf(error) : null }),
      );
    });
  }
}
