/** Ends with 0 if a container engine answers where DOCKER_HOST says or at the usual socket. */
import Docker from 'dockerode';

await new Docker({ timeout: 5000 }).ping().catch(() => process.exit(1));
