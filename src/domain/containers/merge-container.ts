import { Failure } from '../../core/errors.ts';
import { CONTAINER_DEFAULTS, type ContainerConfig } from '../endpoints/endpoint.ts';

/** Merges a request over a template, `env` name by name. Throws `badRequest` if neither has an image. */
export function mergeContainer(
  template: Partial<ContainerConfig> | null,
  given: Partial<ContainerConfig>,
): ContainerConfig {
  const pick = <K extends keyof typeof CONTAINER_DEFAULTS>(name: K): ContainerConfig[K] =>
    (given[name] ?? template?.[name] ?? CONTAINER_DEFAULTS[name]) as ContainerConfig[K];
  const image = given.image ?? template?.image;
  if (image === undefined) throw new Failure('badRequest', 'image: required, unless a template sets it');
  return {
    image,
    args: pick('args'),
    diskGb: pick('diskGb'),
    ports: pick('ports'),
    env: { ...template?.env, ...given.env },
    // Null is a value: it removes the template's.
    registryId: given.registryId === undefined ? (template?.registryId ?? null) : given.registryId,
  };
}
