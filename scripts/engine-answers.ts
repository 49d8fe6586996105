/** Exits with 0 if a container engine answers at DOCKER_HOST or the default socket. */
import Docker from 'dockerode';

await new Docker({ timeout: 5000 }).ping().catch(() => process.exit(1));
