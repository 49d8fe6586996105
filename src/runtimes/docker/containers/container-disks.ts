import type { DiskMeter } from '../../runtime.ts';
import { isRefusal } from '../engine/engine.ts';
import type { Containers } from './containers.ts';

/** What containers have written to their own layer, for those whose size the engine does not limit. */
export class ContainerDisks implements DiskMeter {
  readonly #containers: Containers;

  constructor(containers: Containers) {
    this.#containers = containers;
  }

  async usedBytes(id: string): Promise<number | null> {
    const container = this.#containers.nameOf(id);
    try {
      // The first request is cheap. For the second, the engine reads every directory entry of the layer.
      const { HostConfig } = await this.#containers.inspect(container);
      if (HostConfig.StorageOpt?.size !== undefined) return null;
      return await this.#containers.sizeOf(container);
    } catch (error) {
      if (isRefusal(error, 404)) return null;
      throw error;
    }
  }
}
