import { proxyTests } from './proxy.ts';

proxyTests('process');
