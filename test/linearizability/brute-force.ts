import { type Model, type Operation } from './history.js';

/** The definition itself, for histories of a handful of operations: every order of every choice of the unknown ones. */
export function isLinearizable<S, I, O>(
  model: Model<S, I, O>,
  history: readonly Operation<I, O>[],
  state: S = model.initial,
): boolean {
  if (history.every(({ output }) => output === undefined)) return true;
  return history.some((operation) => {
    const others = history.filter((other) => other !== operation);
    const overdue = others.filter((other) => (other.return ?? Infinity) < operation.call);
    if (overdue.some(({ output }) => output !== undefined)) return false;
    const rest = others.filter((other) => !overdue.includes(other));
    return model.step(state, operation).some((next) => isLinearizable(model, rest, next));
  });
}
