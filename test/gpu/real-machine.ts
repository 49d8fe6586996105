/** What the tests of this folder find on their machine, and what they say at its end. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll } from 'vitest';
import type { Gpu } from '../../src/runtimes/gpus/gpu.ts';
import { LocalGpus } from '../../src/runtimes/gpus/local-gpus.ts';

export const reading = await new LocalGpus({ shares: 1 }).read();
export const gpus = reading.state === 'read' ? reading.gpus : [];
export const nvidia = gpus.filter(({ vendor }) => vendor === 'NVIDIA');
export const folder = mkdtempSync(join(tmpdir(), 'podyard-real-gpus-'));

/** Allocates GPU memory. Null: it could not be compiled, or there is no NVIDIA GPU. */
export const allocate = nvidia.length === 0 ? null : compile('allocate');
/** The PATH with a cuda-checkpoint: NVIDIA's own, or the one that was compiled here. */
export const path = pathWithCheckpoint();

const undone: string[] = [];
const figures: string[] = [];

/** Says at the end what could not be done here. */
export function leaveOut(what: string): void {
  undone.push(what);
}

/** Says at the end what was measured. */
export function measured(what: string): void {
  figures.push(what);
}

/** Call it once in each file. */
export function reportAtTheEnd(): void {
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
    process.stdout.write(figures.map((figure) => `test:gpu measured ${figure}\n`).join(''));
    process.stdout.write(undone.map((what) => `test:gpu could not do ${what}\n`).join(''));
  });
}

/** Returns the MiB that processes of this machine have allocated on the GPU, as the driver reports them. */
export function usedMib({ uuid }: Gpu): number {
  const args = ['-i', uuid, '--query-gpu=memory.used', '--format=csv,noheader,nounits'];
  return Number(execFileSync('nvidia-smi', args, { encoding: 'utf8' }).trim());
}

/** Returns the version of a Python package and the folder that it is in, of the python3 in the PATH; null without it. */
export function findPackage(name: string): { version: string; folder: string } | null {
  const program = `
import importlib.metadata, importlib.util, json, os
spec = importlib.util.find_spec('${name}')
print(json.dumps({'version': importlib.metadata.version('${name}'), 'folder': os.path.dirname(os.path.dirname(spec.origin))}))`;
  try {
    return JSON.parse(
      execFileSync('python3', ['-c', program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    return null;
  }
}

function compile(name: string): string | null {
  const program = join(folder, name);
  try {
    execFileSync('cc', ['-O1', '-o', program, join(import.meta.dirname, `${name}.c`), '-ldl'], { stdio: 'ignore' });
    return program;
  } catch {
    return null;
  }
}

function pathWithCheckpoint(): string {
  const { PATH = '' } = process.env;
  try {
    execFileSync('cuda-checkpoint', ['--help'], { stdio: 'ignore' });
    return PATH;
  } catch {
    if (nvidia.length > 0) compile('cuda-checkpoint');
    return [folder, PATH].join(delimiter);
  }
}
