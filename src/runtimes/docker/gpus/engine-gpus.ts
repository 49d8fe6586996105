/**
 * GPUs as the engine's machine has them, for a server that sees none itself: it runs in a container, or its engine is
 * elsewhere. A short-lived container with all GPUs runs `nvidia-smi`, which NVIDIA's toolkit puts into it.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { messageOf } from '../../../core/errors.ts';
import { Engine, EngineError } from '../../../engine/engine.ts';
import type { Gpu, GpuReading, GpuSource } from '../../gpus/gpu.ts';
import { parseNvidia } from '../../gpus/nvidia-gpus.ts';
import { nvidiaCommand, nvidiaShellCommand } from '../../gpus/nvidia-probe.ts';
import { EngineMachine, type GpuSupport } from '../engine/engine-machine.ts';
import { allGpusRequest } from './gpu-config.ts';

export interface EngineGpusOptions {
  /** Default: DOCKER_HOST, else the usual socket. */
  socketPath?: string;
  installation: string;
  /** How many workloads get each whole GPU. */
  shares: number;
  /** The image of the container. Null: that of the container this process runs in. */
  image: string | null;
  /** For tests: what asks the engine for all GPUs. */
  deviceRequests?: readonly object[];
  /** For tests. */
  findOwn?: () => Promise<string | null>;
}

const LABEL = 'podyard.gpu-probe';
const START_TIMEOUT_MS = 60_000;
/** Longer than the script may take. */
const OUTPUT_TIMEOUT_MS = 90_000;
const MAX_OUTPUT_CHARACTERS = 4 * 2 ** 20;
const MEMORY_BYTES = 256 * 2 ** 20;

/** The engine has no driver for GPUs: neither toolkit nor CDI. */
const NO_GPU_DRIVER = /could not select device driver|unknown or invalid runtime name|unresolvable CDI devices/i;
const ADVICE: readonly [RegExp, string][] = [
  [/driver\/library version mismatch/i, 'The driver was updated while its module is loaded: restart the machine'],
  [
    /nvml error|driver not loaded|initialization error/i,
    'Run nvidia-smi on the engine’s machine: its driver does not work',
  ],
  [/no such image/i, 'Set PODYARD_GPU_PROBE_IMAGE to an image that the engine has and that has /bin/sh'],
];
const TOOLKIT =
  'Install the NVIDIA Container Toolkit on the engine’s machine, or start Podyard with --simulate-gpus to do without GPUs';

export class EngineGpus implements GpuSource {
  readonly name = 'a container of the engine';
  readonly #options: EngineGpusOptions;
  readonly #engine: Engine;
  readonly #machine: EngineMachine;

  constructor(options: EngineGpusOptions) {
    this.#options = options;
    this.#engine = new Engine(options.socketPath);
    this.#machine = new EngineMachine(this.#engine);
  }

  async read(): Promise<GpuReading> {
    try {
      return await this.#read();
    } catch (error) {
      const problem = `the container that reads them failed: ${messageOf(error)}`;
      return { state: 'unreadable', problem, advice: adviceFor(messageOf(error)) };
    } finally {
      await this.#engine.close();
    }
  }

  /** A sentence if this machine has NVIDIA GPUs that its engine cannot give to containers; null if it can, or may. */
  async lackOfSupport(gpus: readonly Gpu[]): Promise<string | null> {
    if (!gpus.some(({ vendor }) => vendor === 'NVIDIA')) return null;
    const { gpus: support } = await this.#machine.read();
    if (support.hasNvidia) return null;
    return `WARNING: the container engine lists neither NVIDIA’s runtime nor CDI devices, so workers may not get GPUs. ${TOOLKIT}`;
  }

  async #read(): Promise<GpuReading> {
    const { gpus: support } = await this.#machine.read();
    const image = this.#options.image ?? (await this.#ownImage());
    if (image === null) return support.hasNvidia ? unknownImage() : { state: 'absent' };
    await this.#removeLeft();
    try {
      const reading = parseNvidia(await this.#run(image, support), this.#options.shares);
      return reading.state === 'absent' && support.hasNvidia ? withoutTool() : reading;
    } catch (error) {
      const hasNone = error instanceof EngineError && NO_GPU_DRIVER.test(error.message) && !support.hasNvidia;
      if (hasNone) return { state: 'absent' };
      throw error;
    }
  }

  async #ownImage(): Promise<string | null> {
    const id = await (this.#options.findOwn ?? findOwnContainer)();
    if (id === null) return null;
    try {
      return (await this.#engine.json<{ Image: string }>({ method: 'GET', path: `/containers/${id}/json` })).Image;
    } catch (error) {
      if (error instanceof EngineError && error.status === 404) return null; // the container of another engine
      throw error;
    }
  }

  /** Removes containers that a server left when it was killed between create and start. Started ones are removed by the engine at their end. */
  async #removeLeft(): Promise<void> {
    const filters = JSON.stringify({
      label: [`${LABEL}=${this.#options.installation}`],
      status: ['created', 'exited'],
    });
    const left = await this.#engine.list<{ Id: string; Created: number }>('/containers/json', { all: 1, filters });
    const isOld = ({ Created }: { Created: number }) => Date.now() / 1000 - Created > START_TIMEOUT_MS / 1000;
    for (const { Id } of left.filter(isOld)) await this.#remove(Id);
  }

  async #run(image: string, support: GpuSupport): Promise<string> {
    const { installation } = this.#options;
    const [program, ...words] = this.#options.image === null ? nvidiaCommand() : nvidiaShellCommand();
    const name = `podyard-gpu-probe-${randomBytes(6).toString('hex')}`;
    const body = {
      Image: image,
      Entrypoint: [program],
      Cmd: words,
      Env: ['NVIDIA_VISIBLE_DEVICES=all', 'NVIDIA_DRIVER_CAPABILITIES=utility,compute'],
      Labels: { [LABEL]: installation },
      Tty: true, // one stream without frames
      HostConfig: {
        AutoRemove: true,
        NetworkMode: 'none',
        Memory: MEMORY_BYTES,
        PidsLimit: 64,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        DeviceRequests: this.#options.deviceRequests ?? [allGpusRequest(support)],
      },
    };
    const { Id } = await this.#engine.json<{ Id: string }>({
      method: 'POST',
      path: '/containers/create',
      query: { name },
      body,
    });
    try {
      const query = { stream: 1, stdout: 1, stderr: 1 };
      const output = await this.#engine.stream({ method: 'POST', path: `/containers/${Id}/attach`, query });
      const text = readAll(output);
      text.catch(() => {}); // a failed start ends it
      await this.#engine.json({ method: 'POST', path: `/containers/${Id}/start`, timeoutMs: START_TIMEOUT_MS });
      return await text;
    } finally {
      await this.#remove(Id);
    }
  }

  async #remove(id: string): Promise<void> {
    await this.#engine
      .json({ method: 'DELETE', path: `/containers/${id}`, query: { force: 1, v: 1 } })
      .catch((error) => {
        if (!(error instanceof EngineError && (error.status === 404 || error.status === 409))) throw error;
      });
  }
}

async function readAll(stream: Readable): Promise<string> {
  const timer = setTimeout(() => stream.destroy(new Error('it printed nothing more for too long')), OUTPUT_TIMEOUT_MS);
  let text = '';
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      text += chunk;
      if (text.length > MAX_OUTPUT_CHARACTERS) throw new Error('it printed too much');
    }
    return text.replaceAll('\r\n', '\n');
  } finally {
    clearTimeout(timer);
  }
}

function adviceFor(message: string): string {
  return ADVICE.find(([words]) => words.test(message))?.[1] ?? TOOLKIT;
}

function unknownImage(): GpuReading {
  return {
    state: 'unreadable',
    problem: 'the container engine has NVIDIA’s runtime or devices, but nvidia-smi is not on this machine',
    advice:
      'Install the driver’s tools here, or set PODYARD_GPU_PROBE_IMAGE to an image of the engine’s with /bin/sh in which to run it',
  };
}

function withoutTool(): GpuReading {
  return {
    state: 'unreadable',
    problem: 'the container engine gave a container GPUs, but no nvidia-smi',
    advice: 'The driver on the engine’s machine has no tools: install them (on Debian or Ubuntu: nvidia-utils)',
  };
}

/**
 * Returns the id of the container that this process runs in, as its engine knows it; null outside of one. Engines mount files
 * of the container's own folder into it, such as `/etc/hostname`, whatever its network and control groups are.
 */
async function findOwnContainer(mountInfo = '/proc/self/mountinfo'): Promise<string | null> {
  const text = await readFile(mountInfo, 'utf8').catch(() => '');
  return (
    /\/(?:containers|overlay-containers)\/([0-9a-f]{64})\/(?:\S*\/)?(?:hostname|resolv\.conf|hosts) /.exec(text)?.[1] ??
    null
  );
}
