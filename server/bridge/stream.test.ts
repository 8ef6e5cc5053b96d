import { expect, test } from 'vitest';
import { EventStream } from './stream.ts';

test('values come in order, whether they or the reader are first, then the end', async () => {
	const stream = new EventStream<number>();
	stream.push(1);
	stream.push(2);
	const read: number[] = [];
	const reading = (async () => {
		for await (const value of stream) read.push(value);
	})();
	await Promise.resolve();
	stream.push(3);
	stream.end();
	stream.push(4);

	await reading;
	expect(read).toEqual([1, 2, 3]);
});

test('an error comes once, after the values still unread', async () => {
	const stream = new EventStream<number>();
	stream.push(1);
	stream.end(new Error('gone'));

	expect(await stream.next()).toEqual({ value: 1, done: false });
	await expect(stream.next()).rejects.toThrow('gone');
	expect(await stream.next()).toEqual({ value: undefined, done: true });
});

test('several readers wait at once, and all are told of the end', async () => {
	const stream = new EventStream<number>();
	const [first, second, third] = [stream.next(), stream.next(), stream.next()];
	stream.push(1);
	stream.end();

	expect(await Promise.all([first, second, third])).toEqual([
		{ value: 1, done: false },
		{ value: undefined, done: true },
		{ value: undefined, done: true },
	]);
});

test('leaving the loop tells the source', async () => {
	let left = 0;
	const stream = new EventStream<number>(() => left++);
	stream.push(1);
	stream.push(2);
	for await (const value of stream) {
		expect(value).toBe(1);
		break;
	}

	expect(left).toBe(1);
	expect(await stream.next()).toEqual({ value: undefined, done: true });
});
