import type { Config } from '../config/config.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Pool } from '../db/pool.ts';
import { findGpuRecord, saveGpuRecord } from '../domain/gpu-record.ts';
import { findSimulation } from '../domain/simulation/simulation.ts';
import {
  detectGpus,
  type GpuReading,
  type GpuSource,
  SIMULATED_BESIDE_REAL,
  sharingNotice,
  unreadableText,
} from '../runtimes/gpus/gpu.ts';
import { GpuInventory } from '../runtimes/gpus/gpu-inventory.ts';

/** A container for each check costs more than a program. */
const CONTAINER_INTERVAL_MS = 300_000;

interface Parts {
  config: Config;
  pool: Pool;
  logger: Logger;
  /** Whether the last start used this runtime. */
  wasThisRuntime: boolean;
}

export interface OpenedGpus {
  /** Null: GPUs are simulated. */
  inventory: GpuInventory | null;
  notices: string[];
}

/**
 * Finds out which GPUs there are, in each of these places in turn. They are simulated only if the configuration says so, or
 * says nothing and no place has any. Throws a sentence when there seem to be some that cannot be read; a server that had
 * real GPUs at its last start continues without them, until they can be read.
 */
export async function openGpus(parts: Parts, sources: readonly [GpuSource, ...GpuSource[]]): Promise<OpenedGpus> {
  const { config, pool } = parts;
  if (config.simulateGpus !== null && config.simulateGpus.length > 0) {
    const reading = await sources[0].read();
    const hasGpus = reading.state === 'read' && reading.gpus.length > 0;
    return { inventory: null, notices: hasGpus ? [SIMULATED_BESIDE_REAL] : [] };
  }
  if (!config.roles.has('control')) {
    if (await findSimulation(pool)) return { inventory: null, notices: [] };
    const record = await findGpuRecord<GpuReading>(pool);
    if (record) return { inventory: createInventory(parts, new RecordedGpus(pool), record), notices: [] };
  }
  const { source, reading } = await detectGpus(sources);
  if (reading.state === 'absent' && config.simulateGpus === null) return { inventory: null, notices: [] };
  if (reading.state === 'unreadable') {
    if (!(await hadGpus(parts)))
      throw new Error(`${unreadableText(reading)}. To do without them: --simulate-gpus ADA_24:4`);
    return { inventory: createInventory(parts, source, reading), notices: [`WARNING: ${unreadableText(reading)}`] };
  }
  await saveGpuRecord(pool, reading);
  const sharing = config.shareGpus > 1 ? [sharingNotice(config.shareGpus)] : [];
  return { inventory: createInventory(parts, source, reading), notices: [...noticesOf(reading), ...sharing] };
}

/** Whether the last start used real GPUs with this runtime. */
async function hadGpus({ pool, wasThisRuntime }: Parts): Promise<boolean> {
  if (!wasThisRuntime || (await findSimulation(pool))) return false;
  return (await findGpuRecord(pool)) !== undefined;
}

function noticesOf(reading: GpuReading): string[] {
  if (reading.state !== 'read') return [];
  if (reading.gpus.length + reading.faulty.length === 0) {
    return [
      'WARNING: the driver of this machine’s GPUs finds none: with MIG, create slices (nvidia-smi mig -cgi); else see nvidia-smi',
    ];
  }
  return reading.faulty.map(({ uuid, busId, fault }) => `WARNING: GPU ${uuid ?? busId} does not answer: ${fault}`);
}

function createInventory({ pool, logger }: Parts, source: GpuSource, first: GpuReading): GpuInventory {
  const isRecord = source instanceof RecordedGpus;
  const onReading = (reading: GpuReading) => {
    if (isRecord || reading.state === 'unreadable') return;
    saveGpuRecord(pool, reading).catch((error) => logger.warn({ err: error }, 'GPUs could not be recorded'));
  };
  const isContainer = source.name === 'a container of the engine';
  return new GpuInventory({
    source,
    logger,
    first,
    onReading,
    ...(isContainer && { intervalMs: CONTAINER_INTERVAL_MS }),
  });
}

/** The last reading of the process that starts workers. */
class RecordedGpus implements GpuSource {
  readonly name = 'the record of the process that starts workers';
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async read(): Promise<GpuReading> {
    try {
      return (await findGpuRecord<GpuReading>(this.#pool)) ?? { state: 'absent' };
    } catch (error) {
      return { state: 'unreadable', problem: messageOf(error), advice: 'See the state of the database' };
    }
  }
}
