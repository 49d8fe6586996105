import { flashbootTests } from './flashboot.ts';

flashbootTests('process');
