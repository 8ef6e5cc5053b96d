import {
	closeSync,
	existsSync,
	fstatSync,
	fsyncSync,
	ftruncateSync,
	openSync,
	readFileSync,
	renameSync,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Image } from './bridge/events.ts';

/** A command that was accepted from a browser, and what is known of it. */
export interface Accepted {
	id: string;
	/** What was to be said to Pi; empty for a command that says nothing. */
	text: string;
	images: Image[];
	/** When it was accepted, in Unix milliseconds. */
	time: number;
}

type Line = { accepted: Accepted } | { done: string };

/** How many ids are remembered after they were done, so that none runs twice. */
const REMEMBERED = 500;

/**
 * Accepted commands of one session, on disk before they reach Pi, and forgotten when Pi's own file
 * holds them. What is left over after a crash was accepted and may not have been run: it is never
 * run again by itself.
 */
export class Journal {
	#file: string;
	#open = new Map<string, Accepted>();
	#done: string[] = [];
	/** Done, and not written down, because the disk was full. */
	#unwritten: string[] = [];

	/** Reads what an earlier proxy left. */
	constructor(folder: string, session: string) {
		this.#file = join(folder, 'journal', `${session}.jsonl`);
		for (const line of this.#read()) {
			if ('accepted' in line) this.#open.set(line.accepted.id, line.accepted);
			else this.#finish(line.done);
		}
		try {
			if (this.#done.length > REMEMBERED) this.#rewrite();
		} catch (error) {
			complain(error);
		}
	}

	static exists(folder: string, session: string): boolean {
		return existsSync(join(folder, 'journal', `${session}.jsonl`));
	}

	/** What was accepted and is not known to be done, oldest first. */
	get open(): Accepted[] {
		return [...this.#open.values()];
	}

	/** Whether this id was ever accepted. */
	knows(id: string): boolean {
		return this.#open.has(id) || this.#done.includes(id);
	}

	/**
	 * Writes a command down; it is on the disk when this returns.
	 * @throws {Error} when it cannot be written; then nothing was accepted
	 */
	accept(command: Accepted) {
		this.#append({ accepted: command });
		this.#open.set(command.id, command);
	}

	/**
	 * Forgets a command. What cannot be written down now is written with the next one: until then
	 * Pi's own file tells a later proxy that it was done.
	 */
	done(id: string) {
		if (!this.#open.has(id)) return;
		this.#finish(id);
		this.#unwritten.push(id);
		try {
			this.#append(...this.#unwritten.map((done) => ({ done })));
			this.#unwritten = [];
		} catch (error) {
			complain(error);
		}
	}

	#finish(id: string) {
		this.#open.delete(id);
		this.#done.push(id);
	}

	#read(): Line[] {
		if (!existsSync(this.#file)) return [];
		return readFileSync(this.#file, 'utf8')
			.split('\n')
			.flatMap((line) => {
				try {
					return line === '' ? [] : [JSON.parse(line) as Line];
				} catch {
					// A line torn by a crash was never acknowledged.
					return [];
				}
			});
	}

	#append(...lines: Line[]) {
		write(this.#file, 'a', lines.map((line) => JSON.stringify(line) + '\n').join(''));
	}

	#rewrite() {
		this.#done = this.#done.slice(-REMEMBERED);
		const lines: Line[] = [
			...this.#done.flatMap((id): Line[] => [
				{ accepted: { id, text: '', images: [], time: 0 } },
				{ done: id },
			]),
			...this.open.map((accepted): Line => ({ accepted })),
		];
		const fresh = `${this.#file}.new`;
		write(fresh, 'w', lines.map((line) => JSON.stringify(line) + '\n').join(''));
		renameSync(fresh, this.#file);
	}
}

/** Nothing is lost by it, and whoever sends the next prompt is told. */
function complain(error: unknown) {
	console.error(`The journal cannot be written: ${(error as Error).message}`);
}

/** All of it or, when the disk is full, nothing of it. */
function write(file: string, flag: 'a' | 'w', text: string) {
	const handle = openSync(file, flag, 0o600);
	const { size } = fstatSync(handle);
	try {
		// A line torn by a crash must not swallow the one after it.
		writeFileSync(handle, flag === 'a' ? `\n${text}` : text);
		fsyncSync(handle);
	} catch (error) {
		ftruncateSync(handle, size);
		throw error;
	} finally {
		closeSync(handle);
	}
}
