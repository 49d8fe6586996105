import { type ColumnMap, column, jsonColumn } from '../../db/columns.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';

/** The container block in the tables `endpoints`, `pods` and `templates`. */
export const CONTAINER_COLUMNS = {
  image: column('image'),
  args: column('args'),
  diskGb: column('disk_gb'),
  ports: column('ports'),
  env: jsonColumn('env'),
  registryId: column('registry_id'),
} satisfies ColumnMap<ContainerConfig>;
