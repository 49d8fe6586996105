import type { ContainerConfig } from './endpoint.ts';

/** The container block as read from `endpoints`, `pods` or `templates`: the columns of a ContainerConfig. */
export const CONTAINER_COLUMNS = 'image, args, disk_gb as "diskGb", ports, env, registry_id as "registryId"';

/** Returns the container block as written to those tables: column to value. */
export function containerColumns(container: ContainerConfig): Record<string, unknown> {
  return {
    image: container.image,
    args: container.args,
    disk_gb: container.diskGb,
    ports: container.ports,
    env: JSON.stringify(container.env),
    registry_id: container.registryId,
  };
}
