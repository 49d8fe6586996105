import type { ContainerConfig } from './endpoint.ts';

/** The container block as the tables of endpoints, pods and templates have it. */
export interface ContainerRow {
  image: string;
  args: string;
  disk_gb: number;
  ports: string[];
  env: Record<string, string>;
  registry_id: string | null;
}

export function toContainer(row: ContainerRow): ContainerConfig {
  return {
    image: row.image,
    args: row.args,
    diskGb: row.disk_gb,
    ports: row.ports,
    env: row.env,
    registryId: row.registry_id,
  };
}

/** As a statement takes it: `env` is JSON, and ports are an array of PostgreSQL's. */
export function containerColumns(container: ContainerConfig): Record<keyof ContainerRow, unknown> {
  return {
    image: container.image,
    args: container.args,
    disk_gb: container.diskGb,
    ports: container.ports,
    env: JSON.stringify(container.env),
    registry_id: container.registryId,
  };
}
