import { expect, test } from 'vitest';
import { Ring } from './ring.ts';

const numbered = (seq: number, text = '') => ({
	seq,
	at: seq,
	event: { type: 'text' as const, messageId: 'm', block: 0, text },
});
const seqs = (ring: Ring, after: number) => ring.after(after)?.map(({ seq }) => seq);

test('it gives what came after a number, and nothing to one who missed nothing', () => {
	const ring = new Ring();
	for (let seq = 1; seq <= 5; seq++) ring.push(numbered(seq));

	expect(seqs(ring, 0)).toEqual([1, 2, 3, 4, 5]);
	expect(seqs(ring, 3)).toEqual([4, 5]);
	expect(seqs(ring, 5)).toEqual([]);
});

test('it says when it does not reach back far enough, or the number is none of its own', () => {
	const ring = new Ring(3);
	for (let seq = 1; seq <= 5; seq++) ring.push(numbered(seq));

	expect(seqs(ring, 1)).toBeUndefined();
	expect(seqs(ring, 2)).toEqual([3, 4, 5]);
	expect(seqs(ring, 9)).toBeUndefined();
	expect(seqs(new Ring(), 0)).toBeUndefined();
});

test('it is bounded in bytes as well', () => {
	const ring = new Ring(100, 1_000);
	for (let seq = 1; seq <= 10; seq++) ring.push(numbered(seq, 'x'.repeat(300)));

	expect(seqs(ring, 10)).toEqual([]);
	expect(ring.after(9)).toHaveLength(1);
	expect(ring.after(5)).toBeUndefined();
});
