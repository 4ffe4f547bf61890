import { registerAs } from '@nestjs/config';
import { readSettings } from './settings.js';

/** What the environment (and a `.env` file beside the process) says, checked at the start. */
export const environmentSettings = registerAs('holdfast', () => readSettings(process.env));
