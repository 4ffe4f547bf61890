import { expect, it } from 'vitest';
import { Chain, type Link } from './chain.js';

interface Member extends Link<Member> {
  readonly name: string;
}

const member = (name: string): Member => ({ name, previous: undefined, next: undefined });
const names = (chain: Chain<Member>) => [...chain].map(({ name }) => name).join('');

it('has its members in the order in which they came, whoever leaves', () => {
  for (const leaving of [[0], [1], [2], [0, 1], [2, 1], [1, 0], [0, 1, 2], [1, 2, 0]]) {
    const members = ['a', 'b', 'c'].map(member);
    const chain = new Chain<Member>();
    for (const one of members) chain.add(one);
    for (const i of leaving) chain.delete(members[i]!);
    const left = ['a', 'b', 'c'].filter((_, i) => !leaving.includes(i)).join('');
    expect(names(chain), String(leaving)).toBe(left);
    expect(chain.first?.name ?? '').toBe(left.slice(0, 1));
    chain.add(member('d'));
    expect(names(chain), `${String(leaving)}, and another`).toBe(`${left}d`);
  }
});
