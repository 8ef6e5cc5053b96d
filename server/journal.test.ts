import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Journal } from './journal.ts';

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), 'holdfast-journal-'));
	mkdirSync(join(folder, 'journal'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const command = (id: string, text = id) => ({ id, text, images: [], time: 1 });
const file = () => join(folder, 'journal', 's.jsonl');

test('what was accepted is there after a crash, until it is done', () => {
	const journal = new Journal(folder, 's');
	journal.accept(command('a'));
	journal.accept(command('b', 'two\nlines'));
	journal.done('a');

	const later = new Journal(folder, 's');
	expect(later.open).toEqual([command('b', 'two\nlines')]);
	expect(later.knows('a')).toBe(true);
	expect(later.knows('b')).toBe(true);
	expect(later.knows('c')).toBe(false);
});

test('a line torn by a crash spoils neither those before it nor those after it', () => {
	const journal = new Journal(folder, 's');
	journal.accept(command('a'));
	appendFileSync(file(), '{"accepted":{"id":"torn","te');

	const later = new Journal(folder, 's');
	later.accept(command('b'));
	expect(new Journal(folder, 's').open.map(({ id }) => id)).toEqual(['a', 'b']);
});

test('ids are remembered after they were done, and the file stays small', () => {
	const journal = new Journal(folder, 's');
	for (let i = 0; i < 600; i++) {
		journal.accept(command(`id${i}`, 'x'.repeat(100)));
		journal.done(`id${i}`);
	}
	journal.accept(command('open'));
	const long = readFileSync(file()).length;

	const later = new Journal(folder, 's');
	expect(later.open.map(({ id }) => id)).toEqual(['open']);
	expect(later.knows('id599')).toBe(true);
	expect(readFileSync(file()).length).toBeLessThan(long);
	expect(new Journal(folder, 's').open.map(({ id }) => id)).toEqual(['open']);
});

test('what cannot be written down is not accepted', () => {
	const journal = new Journal(folder, 's');
	rmSync(join(folder, 'journal'), { recursive: true });

	expect(() => journal.accept(command('a'))).toThrow(/ENOENT/);
	expect(journal.knows('a')).toBe(false);
});

test('what is done on a full disk is done, and written down with the next', () => {
	const journal = new Journal(folder, 's');
	for (const id of ['a', 'b']) journal.accept(command(id));
	renameSync(join(folder, 'journal'), join(folder, 'away'));
	journal.done('a');
	expect(journal.open.map(({ id }) => id)).toEqual(['b']);

	renameSync(join(folder, 'away'), join(folder, 'journal'));
	journal.done('b');
	expect(new Journal(folder, 's').open).toEqual([]);
});
