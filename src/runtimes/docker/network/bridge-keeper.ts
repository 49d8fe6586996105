/**
 * Podman has a network's bridge only while a container is on it, and the worker API listens on the bridge's address before the
 * first worker starts. So one container of ours stays on the network, with a program that only waits. As the network, it
 * belongs to all installations on the engine and outlives them.
 */
import { Failure } from '../../../core/errors.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import { keeperConfig } from '../containers/container-config.ts';
import { EngineMachine } from '../engine/engine-machine.ts';
import { hasHolderProgram, importHolderImage } from '../images/holder-image.ts';

/** Resolves once the network's keeper runs. */
export async function keepBridge(engine: Engine, network: string): Promise<void> {
  const { architecture } = await new EngineMachine(engine).read();
  if (!hasHolderProgram(architecture)) {
    throw new Failure(
      'unavailable',
      `Podyard has no program for containers on this machine's architecture (${architecture})`,
    );
  }
  const path = `/containers/${keeperOf(network)}`;
  const start = () => engine.json({ method: 'POST', path: `${path}/start` });
  const create = () => createKeeper(engine, network);
  try {
    await start();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    // It may belong to a network that was replaced since.
    if (error.status !== 404) await removeKeeper(engine, network);
    await create().catch(async (refusal) => {
      if (!isRefusal(refusal, 404)) throw refusal;
      await importHolderImage(engine, architecture);
      await create();
    });
    await start();
  }
}

/** Call before the network is removed. */
export async function removeKeeper(engine: Engine, network: string): Promise<void> {
  const path = `/containers/${keeperOf(network)}`;
  await orAbsent(engine.json({ method: 'DELETE', path, query: { force: 1 } }));
}

/** True when it is the only container on its network. */
export function isKeeper(name: string): boolean {
  return name.startsWith(PREFIX);
}

const PREFIX = 'podyard-keeper-';

function keeperOf(network: string): string {
  return `${PREFIX}${network}`;
}

/** Another server may create it first. */
async function createKeeper(engine: Engine, network: string): Promise<void> {
  try {
    const query = { name: keeperOf(network) };
    await engine.json({ method: 'POST', path: '/containers/create', query, body: keeperConfig(network) });
  } catch (error) {
    if (!(error instanceof EngineError && /already in use/i.test(error.message))) throw error;
  }
}
