import { type Model } from './history.js';

export type RegisterInput = { readonly write: number } | 'read';
export type RegisterOutput = number | 'written';

/** One number that is written and read. */
export const REGISTER: Model<number, RegisterInput, RegisterOutput> = {
  initial: 0,
  step(state, { input, output }) {
    if (input !== 'read') return [input.write];
    return output === undefined || output === state ? [state] : [];
  },
  key: String,
};
