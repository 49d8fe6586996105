import { Failure } from '../../core/errors.ts';

/**
 * `<port>/<protocol>`: 1 to 65535, spelled out so that a description can carry the rule (docs/interface/rest.md,
 * "Container settings").
 */
export const PORT_PATTERN =
  '^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])/(http|tcp)$';

/**
 * docs/interface/rest.md, "Container settings": what a pod exposes through the proxy, and so what a template may ask
 * for.
 */
const MAX_HTTP_PORTS = 10;

/** Throws `badRequest` if a port is listed twice. */
export function checkRepeatedPort(ports: readonly string[]): void {
  const repeated = ports.find((port, i) => ports.indexOf(port) !== i);
  if (repeated !== undefined) throw new Failure('badRequest', `ports: '${repeated}' is listed more than once`);
}

/** Throws `badRequest` for more HTTP ports than a pod may expose. */
export function checkHttpPortCount(ports: readonly string[]): void {
  const count = ports.filter((port) => port.endsWith('/http')).length;
  if (count <= MAX_HTTP_PORTS) return;
  throw new Failure('badRequest', `ports: ${count} HTTP ports are listed, but at most ${MAX_HTTP_PORTS} are allowed`);
}
