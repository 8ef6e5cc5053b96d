import { expect, test } from 'vitest';
import { parseClientMessage } from './protocol.ts';

test('a good frame is taken as it is', () => {
	const frame = {
		type: 'command',
		id: '1',
		session: 'a1-b2',
		command: { type: 'prompt', text: 'Hello', images: [], when: 'steer' },
	};
	expect(parseClientMessage(JSON.stringify(frame))).toEqual(frame);
});

test.each([
	['{', 'The frame is not JSON.'],
	['null', /^The frame: /],
	['[]', /^type: /],
	['{"type":5}', /^type: /],
	['{"type":"hello","session":"../../etc/passwd"}', /^session: /],
	['{"type":"earlier","session":"a","before":-1}', /^before: /],
	['{"type":"earlier","session":"a","before":1.5}', /^before: /],
	[
		'{"type":"command","id":"1","session":"a","command":{"type":"prompt","text":5}}',
		/^command\.text: /,
	],
	[
		'{"type":"command","id":"1","session":"a","command":{"type":"abort","more":1}}',
		/^command\.more: /,
	],
	[
		'{"type":"command","id":"1","session":"a","command":{"type":"abort_bash","toolCallId":"a b"}}',
		/^command\.toolCallId: /,
	],
])('%s is refused, and the field at fault named', (frame, message) => {
	expect(() => parseClientMessage(frame)).toThrow(message);
});
