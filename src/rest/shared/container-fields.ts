import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import { CONTAINER } from './container-schemas.ts';
import { optional } from './fields.ts';

const D = CONTAINER_DEFAULTS;

/** The container settings of both revisions. The domain fills in the defaults, since a template may provide them. */
export const CONTAINER_FIELDS = {
  image: optional('image', CONTAINER.image),
  args: optional('args', CONTAINER.args, D.args),
  diskGb: optional('disk', CONTAINER.disk, D.diskGb),
  ports: optional('ports', CONTAINER.ports, D.ports),
  env: optional('env', CONTAINER.env, D.env),
  registryId: optional('registry', CONTAINER.registry, D.registryId),
};
