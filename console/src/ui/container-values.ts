import type { EnvRow } from './env-editor.tsx';

/** What the fields of a container hold while somebody fills them in. */
export interface ContainerValues {
  image: string;
  args: string;
  disk: number;
  ports: string[];
  env: EnvRow[];
  registry: string | null;
}

export const NEW_CONTAINER: ContainerValues = { image: '', args: '', disk: 20, ports: [], env: [], registry: null };

/** As the server names them in a refusal. */
export const CONTAINER_FIELDS = ['image', 'args', 'disk', 'ports', 'env', 'registry'];
