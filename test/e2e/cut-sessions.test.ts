import { cutSessionTests } from './cut-sessions.ts';

cutSessionTests('process');
