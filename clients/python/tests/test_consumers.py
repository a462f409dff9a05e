import unittest

import tidemark

from .support import ServerTest, read_until


class Consumers(ServerTest):
    def test_a_consumer_goes_on_behind_what_it_acknowledged(self):
        workspace = self.client.workspace("acknowledged")
        turn = workspace.submit("WORDS 20")["turn"]
        whole = read_until(workspace.events(), turn)
        self.assertEqual(workspace.put_consumer("audit")["offset"], 0)
        middle = whole[len(whole) // 2]
        self.assertEqual(workspace.acknowledge("audit", middle)["offset"], middle["offset"])
        self.assertEqual(workspace.acknowledge("audit", 1)["offset"], middle["offset"])
        self.server.kill()
        self.server.launch()
        self.assertEqual(read_until(workspace.events(consumer="audit"), turn), whole[middle["offset"]:])
        self.assertEqual(workspace.consumer("audit")["lag"], workspace.consumer("audit")["head"] - middle["offset"])
        with self.assertRaises(tidemark.TidemarkError) as refused:
            workspace.acknowledge("audit", 1_000_000)
        self.assertEqual(refused.exception.code, "ahead")
        workspace.delete_consumer("audit")
        self.assertEqual(workspace.consumers(), [])

    def test_a_consumer_begins_where_it_is_told_to(self):
        workspace = self.client.workspace("begins")
        workspace.result(workspace.submit("ECHO one")["turn"])
        self.assertEqual(workspace.put_consumer("head", from_="head")["lag"], 0)
        self.assertEqual(workspace.put_consumer("second", from_="1-1")["offset"], 1)
        self.assertEqual(workspace.put_consumer("second", from_="head")["offset"], 1)


class Webhooks(unittest.TestCase):
    BODY = b'{"a":1}'
    SIGNATURE = "t=1700000000,v1=e13ca661150ed628f4ae657a91356a99ce1d89519ed99c20a90f567c6f061275"

    def test_a_signature_holds_for_its_body_secret_and_time_only(self):
        def holds(body=self.BODY, signature=self.SIGNATURE, secret="it is a secret", now=1_700_000_000):
            return tidemark.verify_webhook(body, signature, secret, now=now)

        self.assertTrue(holds())
        self.assertTrue(holds(body=self.BODY.decode()))
        self.assertTrue(holds(now=1_700_000_300))
        self.assertTrue(holds(now=1_699_999_700))
        self.assertFalse(holds(now=1_700_000_301))
        self.assertFalse(holds(now=1_699_999_699))
        self.assertFalse(holds(body=b'{"a":2}'))
        self.assertFalse(holds(secret="another"))
        self.assertFalse(holds(signature=self.SIGNATURE.replace("t=17", "t=18"), now=1_800_000_000))
        for signature in ("", "t=1,v1=", "v1=00", self.SIGNATURE + "0", "t=-1,v1=" + "0" * 64):
            self.assertFalse(holds(signature=signature))
