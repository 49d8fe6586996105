import { Failure, messageOf } from '../../core/errors.ts';

/** Returns the registry by the engine's own rule: a first part with a dot, a colon, or `localhost`. */
export function registryOf(image: string): string {
  const [first, ...rest] = image.split('/');
  return rest.length > 0 && (/[.:]/.test(first!) || first === 'localhost') ? first! : 'docker.io';
}

const NO_IMAGE = /manifest unknown|manifest for \S+ not found|name unknown/i;
const NO_ACCESS =
  /unauthorized|authentication required|access denied|denied:|access to the resource is denied|no basic auth|incorrect username/i;
const NO_UNPACKING = /failed to register layer|failed to extract layer|error creating overlay/i;

/**
 * Returns a failed pull as a sentence for users, by the words of an engine or a node. Users choose the registry, so these
 * words could tell them which ports are open in the operator's network: whatever is not an answer of a registry is the same
 * sentence. The words are the cause, for the operator's log.
 */
export function pullFailure(image: string, error: unknown, auth: { password: string } | undefined): Failure {
  const words = withoutPassword(messageOf(error), auth);
  const registry = registryOf(image);
  const refuse = (text: string) => new Failure('unprocessable', text, { cause: new Error(words) });
  const wait = (text: string) => new Failure('unavailable', text, { cause: new Error(words) });
  if (/invalid reference format|InvalidImageName/i.test(words)) return refuse(`'${image}' is not a valid image name.`);
  if (/pull policy of Never/i.test(words)) return refuse(`Image '${image}' is not present on the node.`);
  if (NO_IMAGE.test(words)) return refuse(`Image '${image}' does not exist in the registry ${registry}.`);
  if (NO_ACCESS.test(words)) {
    return auth
      ? refuse(`The registry ${registry} refused the credentials for image '${image}'.`)
      : refuse(`Image '${image}' was not found, or it is private and needs registry credentials.`);
  }
  if (/no matching manifest|does not match the specified platform|no match for platform/i.test(words)) {
    return refuse(`Image '${image}' has no version for this machine's processor.`);
  }
  if (/no space left/i.test(words)) return wait(`Image '${image}' does not fit on the disk of this machine.`);
  if (NO_UNPACKING.test(words)) return wait(`Image '${image}' could not be unpacked on this machine.`);
  if (/toomanyrequests|rate limit/i.test(words)) {
    return wait(`The registry ${registry} refused image '${image}': pull rate limit reached.`);
  }
  return wait(`The registry ${registry} gave no usable answer for image '${image}'.`);
}

/** No registry should repeat the password, but a proxy in front of one might. */
function withoutPassword(words: string, auth: { password: string } | undefined): string {
  return auth ? words.replaceAll(auth.password, '…') : words;
}
