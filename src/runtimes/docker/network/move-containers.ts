import type { Logger } from '../../../core/logger.ts';
import { LABELS } from '../containers/container-config.ts';
import type { ContainerSummary, Containers } from '../containers/containers.ts';
import type { Engine } from '../engine/engine.ts';
import type { BridgeNetwork } from './bridge-network.ts';
import { isGroupNetwork } from './group-networks.ts';

interface Move {
  engine: Engine;
  containers: Containers;
  network: BridgeNetwork;
  logger: Logger;
}

/**
 * Moves an installation's running containers to `network`, as after a change of the egress settings. They get new addresses,
 * and lose the connections they have. One that cannot be moved is removed; control replaces it. Returns the workloads' ids.
 */
export async function moveContainers(move: Move): Promise<string[]> {
  const { containers, network, logger } = move;
  const moved: string[] = [];
  for (const container of await containers.listAlive()) {
    const names = Object.keys(container.NetworkSettings?.Networks ?? {}).filter((name) => !isGroupNetwork(name));
    if (names.includes(network.name)) continue; // with none, a move was interrupted
    const workloadId = container.Labels[LABELS.id] ?? '';
    await network.ensure();
    try {
      await moveOne(move, container, names);
      moved.push(workloadId);
      logger.info({ workloadId, network: network.name }, 'workload moved to another network');
    } catch (error) {
      logger.warn({ err: error, workloadId }, 'workload could not be moved to another network: removing it');
      await containers.remove(workloadId);
    }
  }
  return moved;
}

/** Leaves the old network first: the engine publishes ports on the first network only. */
async function moveOne({ engine, network }: Move, { Id, holderId }: ContainerSummary, names: string[]): Promise<void> {
  const Container = holderId ?? Id;
  for (const name of names) {
    const body = { Container, Force: true };
    await engine.json({ method: 'POST', path: `/networks/${encodeURIComponent(name)}/disconnect`, body });
  }
  const body = { Container };
  await engine.json({ method: 'POST', path: `/networks/${network.name}/connect`, body });
}
